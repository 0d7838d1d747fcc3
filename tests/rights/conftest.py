"""The templates of every profile, as the tests of infra have them."""

from tests.infra.conftest import synthesized as synthesized
from tests.infra.conftest import templates as templates
