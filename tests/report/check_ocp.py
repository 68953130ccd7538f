#!/usr/bin/env python3
"""Every line of an OCP stream is what OCP's own schema allows, and the stream as a whole is in order.

    check_ocp.py RENDER_OCP SAMPLE.json SCHEMA_FOLDER      of the renderer's streams
    check_ocp.py --stream FILE.jsonl SCHEMA_FOLDER         of one file
"""
import json
import pathlib
import subprocess
import sys
import tempfile


def validator_of(folder):
    import jsonschema

    schemas = [json.loads(file.read_text()) for file in pathlib.Path(folder).glob("*.json")]
    root = next(schema for schema in schemas if schema["title"] == "OutputArtifact")
    try:
        import referencing

        registry = referencing.Registry().with_resources(
            (schema["$id"], referencing.Resource.from_contents(schema)) for schema in schemas)
        return jsonschema.Draft202012Validator(root, registry=registry)
    except ImportError:  # Debian 12 has jsonschema 4.10
        store = {schema["$id"]: schema for schema in schemas}
        resolver = jsonschema.RefResolver(root["$id"], root, store=store)
        return jsonschema.Draft202012Validator(root, resolver=resolver)


def check_stream(validator, path):
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert lines, f"{path.name}: it is empty"
    for number, line in enumerate(lines):
        for error in validator.iter_errors(line):
            raise AssertionError(f"{path.name}:{number + 1}: {error.message[:300]}: {json.dumps(line)[:300]}")
        assert line["sequenceNumber"] == number, f"{path.name}:{number + 1}: sequence"
    assert "schemaVersion" in lines[0]
    assert "testRunStart" in lines[1]["testRunArtifact"]
    assert "testRunEnd" in lines[-1]["testRunArtifact"]
    open_step = None
    for line in lines[2:]:
        step = line.get("testStepArtifact")
        if step is None:
            continue
        if "testStepStart" in step:
            assert open_step is None, f"{path.name}: two steps at once"
            open_step = step["testStepId"]
        assert step["testStepId"] == open_step, f"{path.name}: an artifact outside of its step"
        if "testStepEnd" in step:
            open_step = None
    assert open_step is None, f"{path.name}: a step without an end"
    return lines[-1]["testRunArtifact"]["testRunEnd"]


def main():
    if sys.argv[1] == "--stream":
        print(check_stream(validator_of(sys.argv[3]), pathlib.Path(sys.argv[2])))
        return
    renderer, sample, schemas = sys.argv[1:]
    try:
        validator = validator_of(schemas)
    except ImportError:
        print("SKIP: python3-jsonschema is not here")
        sys.exit(77)
    # A schema that allows everything would prove nothing.
    assert list(validator.iter_errors({"sequenceNumber": 0, "timestamp": "x", "other": {}}))
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([renderer, sample, folder], check=True)
        ends = {file.stem: check_stream(validator, file) for file in pathlib.Path(folder).glob("*.jsonl")}
    assert ends == {
        "-1": {"status": "ERROR", "result": "NOT_APPLICABLE"},
        "0": {"status": "COMPLETE", "result": "PASS"},
        "1": {"status": "COMPLETE", "result": "FAIL"},
        "3": {"status": "ERROR", "result": "NOT_APPLICABLE"},
    }, ends


main()
