"""Finding installed dialects, reading manifests, and migrating programs to the present ops of dialects."""
