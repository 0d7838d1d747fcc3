"""Several documents: sections grouped by article, and a synthesis of them (W)."""
