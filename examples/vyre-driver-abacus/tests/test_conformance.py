from vyre_conform.testing import Conformance


class TestConformance(Conformance):
    backend = "abacus"
