# fish completion of tilewright. Names of targets, ops and keys are asked from the command itself.
function __tilewright_targets
    tilewright targets 2>/dev/null | awk '/^[^ ]/ {print $1}'
end
function __tilewright_options
    set -l words (commandline -opc)
    test (count $words) -ge 2; and tilewright $words[2] --help 2>/dev/null | sed -n 's/^  \(-., \|    \)\(--[a-z-]*\).*/\2/p'
end
function __tilewright_words
    set -l words (commandline -opc)
    for op in (tilewright ops 2>/dev/null | awk '/^[^ ]/ {print $1}')
        if contains $op $words
            tilewright ops $op | awk '/^  [^ ]/ {print $1 "="}'
        else
            echo $op
        end
    end
end
# generated: fish
set -l commands targets ops tune run emit bench evaluate model prompt view mcp report quantize wisdom cache
complete -c tilewright -f -n "__fish_seen_subcommand_from prompt" -a "plan implement"
complete -c tilewright -f -n "__fish_seen_subcommand_from wisdom" -a "list show forget export import"
complete -c tilewright -f -n "__fish_seen_subcommand_from cache" -a "clear"
complete -c tilewright -r -s o -l out
complete -c tilewright -r -s s -l schedule
complete -c tilewright -r -l trace
complete -c tilewright -r -l timeline
complete -c tilewright -x -l window
complete -c tilewright -x -l grid
complete -c tilewright -x -l block
complete -c tilewright -x -l lds
complete -c tilewright -x -l checks
complete -c tilewright -r -l known
complete -c tilewright -r -l write-known
complete -c tilewright -r -l include
complete -c tilewright -x -s D -l define
complete -c tilewright -x -l workgroups
complete -c tilewright -r -l arg
complete -c tilewright -r -l args
complete -c tilewright -x -l kernel
complete -c tilewright -x -l kernel-cycles
complete -c tilewright -r -l floorplan
complete -c tilewright -r -l svg
complete -c tilewright -r -l from
complete -c tilewright -x -l write
complete -c tilewright -r -l prompts
complete -c tilewright -r -l context
complete -c tilewright -x -l reasoning-effort -a "low medium high"
complete -c tilewright -x -l ancestors
complete -c tilewright -x -l combine
complete -c tilewright -x -l hide-scores
complete -c tilewright -x -l translate
complete -c tilewright -r -l plan
complete -c tilewright -r -l page
complete -c tilewright -r -l reuse
complete -c tilewright -x -s j -l jobs
complete -c tilewright -x -l seed
complete -c tilewright -x -l iterations
complete -c tilewright -x -l plans
complete -c tilewright -x -l kernels
complete -c tilewright -x -l beam
complete -c tilewright -x -l dropout
complete -c tilewright -x -l without -a "menu isa feedback model examples"
complete -c tilewright -x -l agent
complete -c tilewright -x -l temperature
complete -c tilewright -x -l repairs
complete -c tilewright -x -l concurrent-requests
complete -c tilewright -x -l answer-timeout
complete -c tilewright -x -l max-answer-tokens
complete -c tilewright -x -l max-requests
complete -c tilewright -x -l max-tokens
complete -c tilewright -x -l max-cost
complete -c tilewright -x -l price-in
complete -c tilewright -x -l price-out
complete -c tilewright -x -l runner
complete -c tilewright -r -l hosts
complete -c tilewright -x -l samples
complete -c tilewright -x -l seconds
complete -c tilewright -x -l to -a "f32 f16 bf16 e4m3 e5m2 mxfp8 mxfp8-e5m2 mxfp6-e3m2 mxfp6 mxfp4 mxint8 bfp16 i8 i4 i2_s tq1_0 tq2_0 tl1 tl2 e4m3fnuz"
complete -c tilewright -x -l scale-rule -a "floor even up ceil absmax absmean"
complete -c tilewright -x -l group -a "row tensor"
complete -c tilewright -x -l rounding -a "even floor"
complete -c tilewright -x -l overflow -a "saturate special"
# end of fish
complete -c tilewright -f -n "not __fish_seen_subcommand_from $commands" -a "$commands help --help --version"
complete -c tilewright -f -n "__fish_seen_subcommand_from help" -a "$commands"
complete -c tilewright -f -n "__fish_seen_subcommand_from tune emit bench model" -a "(__tilewright_words)"
complete -c tilewright -n "__fish_seen_subcommand_from run" -a "(__tilewright_words)"
complete -c tilewright -f -n "__fish_seen_subcommand_from targets" -a "(__tilewright_targets)"
complete -c tilewright -f -n "__fish_seen_subcommand_from view" -a "(tilewright view 2>/dev/null | awk '!/`/ {for (i = /^ / ? 1 : 2; i <= NF; i++) print \$i}' | sort -u)"
complete -c tilewright -n "__fish_seen_subcommand_from $commands" -a "(__tilewright_options)"
complete -c tilewright -x -s t -l target -a "(__tilewright_targets)"
complete -c tilewright -n "__fish_seen_subcommand_from quantize" -F
