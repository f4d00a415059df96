"""The second opinions: what a case must give is settled here before any backend is judged."""

from vyre_conform.oracle.evaluators import EVALUATORS, evaluate_case
from vyre_conform.oracle.verdict import Verdict, settle

__all__ = ["EVALUATORS", "Verdict", "evaluate_case", "settle"]
