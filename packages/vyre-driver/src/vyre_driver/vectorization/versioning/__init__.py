"""Loop versioning: two versions of a region, one without the checks that a comparison before it decides."""
