# The runs that a page lacks; `icr train PAGE --profile NAME` writes their list, {folder: command}, and calls Snakemake.
# A run's record is the target. Its notebook and its log lie beside it, and its checkpoints, which are no outputs, for
# Snakemake deletes the outputs of what was killed: started again, a run goes on from them.
import json

with open(config["plan"]) as file:
    COMMANDS = json.load(file)


rule all:
    input:
        expand("{run}/record.json", run=COMMANDS),


rule train:
    output:
        "{run}/record.json",
    log:
        "{run}/run.log",
    retries: 2
    resources:
        mem_mb=8000,
        runtime=1440,
    params:
        command=lambda wildcards: COMMANDS[wildcards.run],
    shell:
        "OMP_NUM_THREADS={threads} TQDM_DISABLE=1 {params.command} > {log:q} 2>&1"
