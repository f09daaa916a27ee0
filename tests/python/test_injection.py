"""What `ulpscope record` does to a Python program: it is recorded and notices nothing."""

import os
import shutil
import subprocess
import sys
import textwrap

import conftest
import pytest

OP = "import torch\ntorch.ones(3).sin()\n"


def names(trace):
    return [op.name for op in trace]


def test_a_script_a_module_and_a_command(run, tmp_path):
    package = tmp_path / "package"
    package.mkdir()
    (package / "__main__.py").write_text(OP)
    for result in (run(OP), run(python=["-m", "package"]), run(python=["-c", OP])):
        assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
        assert "aten::sin" in names(result.trace)
        assert result.trace.complete


def test_a_program_without_torch(run):
    result = run("import json, sys\nprint(json.dumps(sys.argv[1:]))\nsys.exit(7)", "a", "b c")
    assert (result.returncode, result.stdout, result.stderr) == (7, '["a", "b c"]\n', "")
    assert result.files == []


def test_torch_imported_and_no_op(run):
    result = run("import torch")
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
    assert result.files == []


@pytest.mark.parametrize(
    "ending, status, error",
    [
        ("sys.exit(3)", 3, ""),
        ("raise ValueError('own')", 1, "ValueError: own"),
        ("os._exit(5)", 5, ""),
        ("os.kill(os.getpid(), signal.SIGTERM)", -15, ""),
        ("sys.exit('said')", 1, "said"),
    ],
)
def test_the_end_is_the_programs_own(run, ending, status, error):
    program = f"import os, signal, sys, time, torch\ntorch.ones(3).sin()\ntime.sleep(1)\n{ending}\n"
    result = run(program)
    plain = run(program, record=False)
    assert result.returncode == plain.returncode == status
    assert error in result.stderr
    assert result.stderr == plain.stderr
    assert "aten::sin" in names(result.trace)
    assert result.trace.complete == (status in (1, 3))


def test_the_programs_own_sitecustomize_runs(run, tmp_path):
    own = tmp_path / "own"
    own.mkdir()
    (own / "sitecustomize.py").write_text("MARK = 'mine'\nimport builtins\nbuiltins.mark = MARK\n")
    result = run(
        """
        import os, sys
        import sitecustomize
        print(mark, sitecustomize.MARK, sitecustomize.__file__)
        print([p for p in sys.path if "_inject" in p])
        import torch
        torch.ones(3).sin()
        """,
        PYTHONPATH=str(own),
    )
    assert result.stderr == ""
    assert result.stdout == f"mine mine {own}/sitecustomize.py\n[]\n"
    assert "aten::sin" in names(result.trace)


def test_an_error_in_the_programs_sitecustomize_is_told_as_without_us(run, tmp_path):
    own = tmp_path / "own"
    own.mkdir()
    (own / "sitecustomize.py").write_text("import torch\ntorch.ones(2).cos()\n1/0\n")
    plain = run(OP, record=False, PYTHONPATH=str(own))
    result = run(OP, PYTHONPATH=str(own))
    assert result.returncode == 0
    assert result.stderr == plain.stderr and "ZeroDivisionError" in plain.stderr
    assert {"aten::cos", "aten::sin"} <= set(names(result.trace))


def test_import_from_a_thread_and_of_a_submodule(run):
    thread = run(
        """
        import threading
        def work():
            import torch.nn.functional as F
            F.relu(torch_ones())
        def torch_ones():
            import torch
            return torch.ones(3)
        t = threading.Thread(target=work); t.start(); t.join()
        """
    )
    assert thread.stderr == ""
    assert "aten::relu" in names(thread.trace)


def test_the_loader_and_spec_of_torch_are_its_own(run):
    program = """
        import torch, inspect, importlib
        print(type(torch.__loader__).__name__, torch.__spec__.loader is torch.__loader__)
        print("exec_module" in vars(torch.__loader__), len(inspect.getsource(torch)) > 1000)
        print(importlib.import_module("torch") is torch)
        """
    assert run(program).stdout == run(program, record=False).stdout


def test_children(run):
    """A forked child is silent, a spawned one and one of subprocess write files of their own."""
    result = run(
        """
        import multiprocessing, os, subprocess, sys
        import torch
        def work(x):
            torch.ones(3).cos()
        if __name__ == "__main__":
            torch.ones(3).sin()
            for method in ("fork", "spawn"):
                process = multiprocessing.get_context(method).Process(target=work, args=(1,))
                process.start(); process.join()
                print(process.exitcode)
            subprocess.run([sys.executable, "-c", "import torch; torch.ones(3).tan()"], check=True)
            torch.ones(3).exp()
        """
    )
    assert (result.returncode, result.stdout, result.stderr) == (0, "0\n0\n", "")
    seen = {file.name: set(names(conftest.ulpscope.open(file))) for file in result.files}
    assert seen.pop("run.ulps") == {"aten::ones", "aten::sin", "aten::exp"}
    assert sorted(seen.values(), key=sorted) == [
        {"aten::ones", "aten::cos"},
        {"aten::ones", "aten::tan"},
    ]


def test_data_loader_workers(run):
    program = """
        import torch
        from torch.utils.data import DataLoader, TensorDataset
        torch.manual_seed(0)
        data = TensorDataset(torch.arange(12.0).reshape(6, 2))
        total = sum(batch[0].sum() for batch in DataLoader(data, batch_size=2, num_workers=2, shuffle=True))
        print(total.item())
        """
    result = run(program)
    assert (result.returncode, result.stdout, result.stderr) == (0, "66.0\n", "")
    assert [file.name for file in result.files] == ["run.ulps"]
    assert names(result.trace).count("aten::sum") == 3


def test_exec_leaves_what_was_recorded(run):
    result = run(
        """
        import os, sys, torch
        for _ in range(100):
            torch.ones(3).sin()
        os.execv(sys.executable, [sys.executable, "-c", "print('next')"])
        """
    )
    assert (result.returncode, result.stdout) == (0, "next\n")
    assert names(result.trace).count("aten::sin") == 100
    assert not result.trace.complete


def test_another_torch_gets_one_line_and_the_program_runs(run, tmp_path):
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").write_text("__version__ = '2.12.1+cpu'\n")
    result = run("import torch\nprint(torch.__version__)")
    assert (result.returncode, result.stdout) == (0, "2.12.1+cpu\n")
    (line,) = result.stderr.splitlines()
    assert line.startswith("ulpscope: not recording: built for torch 2.13.0, this is torch 2.12.1")
    assert result.files == []


def test_another_python_gets_one_line_and_the_program_runs(run, tmp_path):
    package = tmp_path / "elsewhere" / "ulpscope"
    shutil.copytree(conftest.PACKAGE, package, ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    build = package / "_build.py"
    text = build.read_text()
    build.unlink()
    build.write_text(text.replace('PYTHON = "', 'PYTHON = "9'))
    result = run(OP + "print('done')", inject=package / "_inject")
    assert (result.returncode, result.stdout) == (0, "done\n")
    (line,) = result.stderr.splitlines()
    assert line.startswith("ulpscope: not recording: built for CPython 9")


def test_a_package_that_the_program_cannot_import(run, tmp_path):
    """The recorder comes from its own folder; what lies beside it stays invisible."""
    package = tmp_path / "elsewhere" / "ulpscope"
    shutil.copytree(conftest.PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "elsewhere" / "beside.py").write_text("")
    result = run(
        """
        import importlib.util, torch
        torch.ones(3).sin()
        print(importlib.util.find_spec("beside"))
        import ulpscope
        print(ulpscope.__file__, ulpscope.recording())
        """,
        inject=package / "_inject",
    )
    assert result.stderr == ""
    assert result.stdout == f"None\n{package}/__init__.py True\n"
    assert "aten::sin" in names(result.trace)


def test_an_isolated_interpreter_is_left_alone(run):
    for flag in ("-I", "-E", "-S"):
        result = run(python=[flag, "-c", "print(1)"])
        assert (result.returncode, result.stdout, result.stderr, result.files) == (0, "1\n", "", [])


def test_a_folder_that_cannot_be_written(run, tmp_path):
    result = run(OP + "print('done')", ULPSCOPE_OUTPUT="unused")
    env = conftest.environment(tmp_path / "missing" / "run.ulps")
    done = subprocess.run(
        [sys.executable, "-c", OP + "print('done')"], env=env, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (0, "done\n")
    (line,) = done.stderr.splitlines()
    assert line.startswith("ulpscope: ")
    assert result.returncode == 0


def test_pytest_and_a_console_script(run, tmp_path):
    test = tmp_path / "test_one.py"
    test.write_text("import torch\ndef test_one():\n    assert torch.ones(2).sum() == 2\n")
    result = run(python=["-m", "pytest", "-q", "-p", "no:cacheprovider", str(test)])
    assert result.returncode == 0 and "1 passed" in result.stdout
    assert "aten::sum" in names(result.trace)

    script = tmp_path / "train"
    script.write_text(f"#!{sys.executable}\n" + OP)
    script.chmod(0o755)
    done = subprocess.run([script], env=conftest.environment(tmp_path / "script.ulps"))
    assert done.returncode == 0
    assert "aten::sin" in names(conftest.ulpscope.open(tmp_path / "script.ulps"))


def test_torchrun(run, tmp_path):
    program = tmp_path / "ranks.py"
    program.write_text(
        textwrap.dedent(
            """
            import torch, torch.distributed as dist
            dist.init_process_group("gloo")
            x = torch.ones(3) * (dist.get_rank() + 1)
            dist.all_reduce(x)
            print(x[0].item(), flush=True)
            dist.destroy_process_group()
            """
        )
    )
    result = run(
        python=["-m", "torch.distributed.run", "--nproc-per-node=2", "--standalone", str(program)]
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.count("3.0") == 2  # the ranks' lines may mix
    ranks = [file for file in result.files if "rank" in file.name]
    assert [file.name for file in ranks] == ["run.rank0.ulps", "run.rank1.ulps"]
    for file in ranks:
        assert "aten::mul" in names(conftest.ulpscope.open(file))


def test_environment_is_told(run):
    result = run(
        """
        import torch
        torch.manual_seed(11)
        torch.ones(2).sin()
        torch.set_num_threads(1)
        torch.use_deterministic_algorithms(True)
        torch.set_float32_matmul_precision("high")
        torch.set_default_dtype(torch.float64)
        """,
        PYTHONHASHSEED="5",
    )
    told = result.trace.environment
    assert told["random.initial_seed"] == "11"
    assert told["threads.intra_op"] == "1"
    assert told["deterministic_algorithms"] == "True"
    assert told["float32_matmul_precision"] == "high"
    assert told["default_dtype"] == "float64"
    assert told["env.PYTHONHASHSEED"] == "5"
    assert told["python.version"] == sys.version.split()[0]
    assert told["torch.compile"] == "off"
    assert os.sep not in told["torch.version"]
