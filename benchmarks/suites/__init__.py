"""What is measured, one suite a file: `PEERS`, `cases`, `takes_part`, `prepare` (in the peer), `tables`."""
