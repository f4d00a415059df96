"""Tests of the workspace leave the user's cache alone: nothing is kept between processes unless a test asks for it."""

import os

os.environ["VYRE_CACHE"] = "off"
