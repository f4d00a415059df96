from . import html as html, text as text, validate as validate, wire as wire
