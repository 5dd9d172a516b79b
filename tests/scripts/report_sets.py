"""Result sets for the tests of reports: records as amrbench and scripts/sweep.py write them, from a small model.

Everything follows from the case and the repetition, so that a set is the same whenever it is made.
`python3 report_sets.py DIR [CASES]` writes a set to look at.
"""
import hashlib
import itertools
import json
import pathlib
import random
import sys

PHASES = ("stencil", "halo", "refine", "balance", "migrate", "checksum", "output", "checkpoint", "other")
AXES = {
    "mesh.block": [4, 8, 16], "fields.variables": [1, 10, 40], "balance.policy": ["every", "auto", "never"],
    "partition.method": ["hilbert", "orb"], "partition.slices": ["midpoint", "exact"]
}


def run_record(values, ranks=2, threads=1, repetition=0, steps=40, refine_every=5, gpus=0, work=1.0, series=True):
    """A run's record. `values`: config keys with dots; `work`: the size of the problem, in multiples of a small one."""
    dice = random.Random(json.dumps([sorted(map(str, values.items())), ranks, repetition]))
    get = values.get
    block, variables, policy = get("mesh.block", 8), get("fields.variables", 10), get("balance.policy", "every")
    noise = 1 + 0.02 * (dice.random() - 0.5)
    rows, blocks = [], [1, 36, 84, 384]
    for step in range(0, steps + 1, refine_every):
        blocks = [1, 36, 84 + 8 * (step // 10), 384 + 8 * (step // 5)]
        before = 0.02 + (0.15 if policy == "never" else 0.05) * (step / steps) + 0.01 * dice.random()
        anew = policy == "every" or policy == "auto" and step % 10 == 0
        rows.append({
            "step": step, "blocks": sum(blocks), "blocks_by_level": blocks, "imbalance": before,
            "decision": "full" if anew else "leave", "imbalance_after": 0.01 if anew else before,
            "blocks_migrated": 7 if anew else 0, "refine_s": 0.01, "balance_s": 0.002
        })
    cell_updates = int(work * sum(blocks) * 8 ** 3 * 10 * steps * 20)
    share = (0.35 + 0.1 * (variables > 1) + 0.08 * (block > 4) - 0.05 * (policy == "never") + 0.03 *
             (get("partition.method") == "orb") - 0.02 * max(0, ranks * threads - 2)) * noise
    copy = 4e10 * max(1, ranks * threads / 2)
    time = 16 * cell_updates / copy / share
    parts = {
        "stencil": 0.7, "halo": 0.12, "refine": 0.05, "balance": 0.02, "migrate": 0.03 * (policy != "never"),
        "checksum": 0.03, "output": 0.0, "checkpoint": 0.0
    }
    parts["other"] = 1 - sum(parts.values())
    config = {
        "mesh": {"dim": 3, "root": [2, 2, 2], "block": [block] * 3, "max_level": 3}, "fields": {"variables": variables},
        "run": {"name": get("run.name", "model"), "steps": steps, "stencil": "average7", "refine_every": refine_every},
        "partition": {"method": get("partition.method", "hilbert"), "slices": get("partition.slices", "midpoint")},
        "balance": {"policy": policy,
                    "weights": "uniform"}, "device": {"backend": "cuda" if gpus else "cpu", "threads": threads}
    }
    return {
        "schema": 1, "program": "amrbench", "version": "0.1.0", "valid": True, "config": config, "provenance": {
            "version": "0.1.0", "commit": "0123456789abcdef", "dirty": False, "compiler": "GNU 12.2.0", "flags": "-O3",
            "build_type": "Release", "mpi": "Open MPI v4.1.4", "cuda": "none", "cpu": "A processor", "gpu": "none",
            "cores_node": 2, "memory_node_bytes": 2 ** 34, "nodes": 1, "ranks": ranks, "threads": threads,
            "launch": "amrbench run model.toml", "time_utc": "2026-11-23T01:02:03Z", "notes": []
        }, "totals": {
            "time_s": time, "steps": steps, "stages": 20 * steps, "cell_updates": cell_updates, "block_stages": 40000,
            "blocks_final": sum(blocks), "blocks_mean": 530.0, "blocks_max": sum(blocks), "blocks_by_level": blocks,
            "blocks_split": 84, "blocks_merged": 7, "refine_steps": len(rows), "memory_bytes_max_rank": 46522368
        }, "phases": {
            name: {
                "min_s": 0.95 * time * parts[name], "mean_s": time * parts[name], "max_s": 1.05 * time * parts[name],
                "calls": 10
            } for name in PHASES
        }, "rates": {
            "cell_updates_per_s": cell_updates / time, "bytes_per_s": 16 * cell_updates / time,
            "copy_bandwidth_bytes_per_s": copy, "roofline_fraction": share
        }, "balance": {
            "policy": policy, "rebalances": sum(row["decision"] == "full" for row in rows), "blocks_migrated": 70,
            "bytes_migrated": 70000, "imbalance_mean": sum(row["imbalance"] for row in rows) / len(rows),
            "imbalance_max": max(row["imbalance"] for row in rows)
        }, "partition": {
            "method": config["partition"]["method"], "degree_max": 1, "edge_cut_max": 100, "edge_cut_total": 200,
            "comm_bytes_max": 100000
        }, "device": {
            "backend": config["device"]["backend"], "transport": "none", "gpus": gpus,
            "stencil_s": 0.8 * time * bool(gpus), "faces_s": 0.1 * time * bool(gpus), "wait_s": 0.0,
            "between_s": 0.05 * time * bool(gpus)
        }, **({"series": rows} if series else {}), "fields": [{
            "variable": v, "sum": 1.0, "sum_squares": 1.0, "min": 0.0, "max": 1.0, "checksum_hex": "901537797e1b6549"
        } for v in range(min(variables, 3))], "mesh_crc_hex": "6811fb67d1399e89"
    }


def partition_record(counts=(8, 64, 512), methods=("morton", "hilbert", "metis_kway")):
    rows = [{
        "method": method, "parts": parts, "load_max": 1e6 / parts, "load_mean": 1e6 / parts,
        "imbalance": 1.0 + 0.01 * k, "empty_parts": 0, "degree_max": 13 + k,
        "edge_cut_max": int(9000 / parts ** 0.66 * (1 + 0.1 * k)), "edge_cut_total": 1000 * parts,
        "time_s": 0.02 * (1 + k), "memory_bytes": 32000000
    } for parts in counts for k, method in enumerate(methods)]
    return {
        "schema": 1, "program": "amrbench", "command": "partition",
        "input": {"name": "grid:100x100x100:7", "points": 1000000}, "options": {"threads": 2}, "rows": rows,
        "provenance": run_record({})["provenance"]
    }


def replay_record(partitions=("hilbert", )):
    policies = {"every": 0.012, "auto": 0.011, "never": 12.6}
    rows = [{
        "ranks": ranks, "partition": partition, "slices": "midpoint", "policy": policy, "weights": "uniform",
        "machine": "model", "time_s": 9.0 * (1 + regret), "stencil_s": 3.0 * (1 + regret), "halo_s": 5.0 * (1 + regret),
        "refine_s": 0.5 * (1 + regret), "balance_s": 0.3 * (1 + regret), "migrate_s": 0.2 * (1 + regret),
        "rebalances": 9, "imbalance_mean": 0.02, "optimum_s": 9.0, "optimum_exact": True, "regret": regret
    } for ranks in (1024, 16384) for partition in partitions for policy, regret in policies.items()]
    return {
        "schema": 1, "program": "amrbench", "command": "replay", "trace": "explosion.trace", "options": {},
        "seconds": 1.0, "rows": rows, "provenance": run_record({})["provenance"]
    }


def orb_record(n, time):
    return {
        "schema": 1, "program": "amrbench orb", "input": f"uniform:{n}:1", "dim": 3, "coordinates": "float",
        "weights": "", "method": "multiway", "side_tolerance": 0.0625, "n": n, "leaves": 4096, "time_s": time,
        "times_s": [time], "copy_bandwidth_bytes_per_s": 4.5e10, "levels": [],
        "provenance": run_record({})["provenance"]
    }


def benchmark_record():
    rows = [{
        "name": f"average7/edge:{edge}/variables:{v}", "run_name": "x", "run_type": "iteration", "iterations": 20,
        "real_time": 2.4, "cpu_time": 2.4, "time_unit": "ms", "items_per_second": 2.3e11, "copy_share": 0.5 + edge / 40
    } for edge in (4, 8, 16) for v in (1, 10)]
    return {"context": {"date": "2026-11-22T06:31:00+00:00", "num_cpus": 16, "commit": "0123456"}, "benchmarks": rows}


def write(path, data):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(data), encoding="utf-8")


def combinations(count):
    """So many cases: the first of the product of AXES, with more values on the last axes as they are needed."""
    axes = dict(AXES)
    grown = 1
    while len(list(itertools.product(*axes.values()))) < count:
        axes["run.refine_every"] = [5 * k for k in range(1, grown + 1)]
        grown += 1
    return axes, [dict(zip(axes, values)) for values in itertools.product(*axes.values())][:count]


def study(folder,
          cases=None,
          repetitions=2,
          bad=(),
          scaling=None,
          name="model",
          title="A model of a sweep",
          series=True):
    """A result set. `cases`: values of each; `bad`: {case number: status} for its last repetition."""
    folder = pathlib.Path(folder)
    bad = dict(bad)
    if isinstance(cases, int) or cases is None:
        axes, cases = combinations(cases or 12)
    else:
        axes = {axis: 0 for values in cases for axis in values}
    entries, order = [], 0
    for k, values in enumerate(cases):
        id_ = hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:16]
        ranks, threads, gpus = values.get("ranks", 2), values.get("threads", 1), values.get("gpus", 0)
        runs = []
        for repetition in range(repetitions):
            status = bad.get(k, "done") if repetition == repetitions - 1 else "done"
            place = folder / "cases" / id_ / str(repetition)
            record = run_record(values,
                                ranks,
                                threads,
                                repetition,
                                gpus=gpus,
                                refine_every=values.get("run.refine_every", 5),
                                work=ranks * threads if scaling == "weak" else 1.0,
                                series=series)
            if status in ("done", "invalid"):
                write(place / "run.json", {**record, "valid": status == "done"})
            place.mkdir(parents=True, exist_ok=True)
            (place / "output.txt").write_text("amrbench: error: it broke\n" if status == "failed" else "fine\n",
                                              encoding="utf-8")
            runs.append({
                "repetition": repetition, "order": order, "status": status, "exit_status": 0 if status == "done" else 1,
                "started": "2026-11-23T01:02:03+00:00", "seconds": 1.5,
                "record": f"cases/{id_}/{repetition}/run.json" if status in ("done", "invalid") else None,
                "message": "" if status == "done" else "amrbench: error: it broke"
            })
            order += 1
        entries.append({
            "id": id_, "label": ", ".join(f"{axis.split('.')[-1]} {value}" for axis, value in values.items()),
            "values": values, "command_line": ["mpirun", "-n",
                                               str(ranks), "--bind-to", "core", "amrbench",
                                               "run"], "ranks": ranks, "threads": threads, "gpus": gpus, "runs": runs
        })
    write(
        folder / "study.json", {
            "schema": 1, "kind": "study", "name": name, "title": title, "question": "What does it matter?",
            "command": "run", "scaling": scaling, "axes": list(axes), "repetitions": repetitions, "finished": True,
            "cases": entries, "provenance": {
                "program": "amrbench", "version": "0.1.0", "commit": "0123456789abcdef", "build": "Release",
                "compiler": "GNU 12.2.0", "mpi": "Open MPI v4.1.4", "sha256": "0" * 64, "hostname": "here",
                "cpu": "A processor", "cores": 2, "gpus": [], "python": "3.11.2", "started": "2026-11-23T01:02:03+00:00"
            }
        })
    return folder


if __name__ == "__main__":
    study(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 12, bad={3: "failed", 5: "invalid"})
