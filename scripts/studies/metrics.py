"""What is known of metrics by their names: which way is better, and which of them are measurements."""

DEFAULTS = {"run": ("totals.time_s", "rates.cell_updates_per_s"), "benchmark": ("real_time_s", "items_per_second"),
            "dynamic": ("updates_per_s",), "miniamr_runs": ("total_s", "cell_updates_per_s"),
            "partition_tables": ("ours.time_s",)}
HIGHER = ("_per_s", "_per_second", "roofline_fraction", "copy_share", "efficiency")
LOWER = ("bytes", "memory_bytes_max_rank", "memory_growth_bytes_max_rank", "imbalance", "imbalance_mean",
         "imbalance_max", "regret", "degree_max", "degree_mean", "edge_cut_max", "edge_cut_total", "comm_volume_max",
         "comm_volume_total", "comm_bytes_max", "node_comm_bytes_max", "node_comm_bytes_total", "halo_bytes",
         "node_halo_bytes", "boundary_max", "boundary_total", "pieces_max", "pieces_total",
         "load_max", "empty_parts", "moved_weight", "node_load_max", "node_degree_max", "node_messages_max",
         "node_edge_cut_max", "node_edge_cut_total", "node_comm_volume_max", "node_comm_volume_total", "curve_length",
         "curve_jumps", "blocks_migrated", "bytes_migrated", "bytes_migrated_least", "bytes_sent", "link_bytes",
         "rebalances", "launches_per_step", "real_time", "cpu_time", "seconds", "stencil", "communication",
         "checksum", "refinement")
MEASURED = ("_s", "_per_s", "_per_second", "_time", "seconds", "roofline_fraction", "copy_share", "efficiency")


def default_metrics(kind: str) -> tuple[str, ...]:
    """Total time and, where a kind of record has one, its figure of merit."""
    return DEFAULTS.get(kind, ("time_s", "totals.time_s"))


def direction(metric: str) -> bool | None:
    """True where higher is better, False where lower is, None for an unknown name."""
    last = metric.rsplit(".", 1)[-1]
    if last.endswith(HIGHER):
        return True
    return False if last.endswith(("_s", "_bytes")) or last in LOWER else None


def is_measured(metric: str, kind: str) -> bool:
    """Whether the metric is a measurement; counts are not, nor are the times of a replay, which its model gives."""
    if kind == "replay":
        return metric == "seconds"
    last = metric.rsplit(".", 1)[-1]
    return last.endswith(MEASURED) or "memory" in last or "resident" in last or kind in ("miniamr_runs",)
