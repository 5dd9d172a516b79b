"""Studies: sweeps over configurations, their result sets on disk, scaling, comparison and reports (docs/studies.md)."""
