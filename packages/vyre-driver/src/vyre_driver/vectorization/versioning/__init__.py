"""Loop versioning: regions written twice, without the checks that one comparison before them decides."""
