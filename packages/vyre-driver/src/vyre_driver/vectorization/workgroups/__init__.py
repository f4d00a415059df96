"""Workgroups as loops: one work item runs a workgroup, or a batch of them."""
