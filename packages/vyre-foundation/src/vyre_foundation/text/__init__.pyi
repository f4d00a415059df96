from . import parser as parser
from .errors import TextError as TextError
from .printer import format_expr as format_expr, print_program as print_program
from .reading import parse as parse
