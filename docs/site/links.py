"""Links of the documentation that leave its folder lead to the repository on the site; on a checkout they are files."""

import re
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError

ROOT = Path(__file__).parents[2]
_OUTWARD = re.compile(r"(\]\()((?:\.\./)+)([^)#]+)(#[^)]*)?(\))")


def on_page_markdown(markdown: str, *, page: Any, config: Any, **_: Any) -> str:
    """Return the page with links to files outside docs/ as addresses of the repository. Raise on a file that is missing."""
    depth = page.file.src_uri.count("/")

    def outward(match: re.Match[str]) -> str:
        if match[2].count("../") <= depth:
            return match[0]
        if not (ROOT / match[3]).exists():
            raise PluginError(f"{page.file.src_uri} links to {match[3]}, which is not in the repository")
        kind = "tree" if (ROOT / match[3]).is_dir() else "blob"
        return f"{match[1]}{config['repo_url']}/{kind}/main/{match[3]}{match[4] or ''}{match[5]}"

    return _OUTWARD.sub(outward, markdown).replace("[?", "\\[?")  # HOST[:PORT][?OPTIONS] is no reference
