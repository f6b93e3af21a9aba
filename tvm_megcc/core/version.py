"""The version, which everything else reads here."""

VERSION = "0.1.0"
