from .stages import (
    emit as emit,
    follow_versions as follow_versions,
    jam_lookups as jam_lookups,
    unswitch_loops as unswitch_loops,
    vector_reports as vector_reports,
    write_out_rows as write_out_rows,
)
