"""Studies: sweeps over configurations, scaling, reports and comparisons of what `amrbench` writes."""
