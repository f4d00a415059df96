"""How is this program launched? Pure: a program, lengths and a configuration in, one plan out."""
