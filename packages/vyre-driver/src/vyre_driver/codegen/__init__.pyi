from .c.unit import print_unit as print_unit
