# bash completion of tilewright. Names of targets, ops and keys are asked from the command itself.
_tilewright() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]} words=
  [ "$current" = = ] && return
  COMPREPLY=()
  case $previous in
    -t | --target) words=$(tilewright targets 2>/dev/null | awk '/^[^ ]/ {print $1}') ;;
    -o | --out) COMPREPLY=($(compgen -d -- "$current")); return ;;
    -s | --schedule | --trace | --timeline | --kernel | --floorplan | --svg | --from | --plan) COMPREPLY=($(compgen -f -- "$current")); return ;;
    --to) words="f32 f16 bf16 e4m3 e5m2 mxfp8 mxfp8-e5m2 mxfp6 mxfp6-e3m2 mxfp4 mxint8 bfp16 i8 i4 i2_s tq1_0 tq2_0 tl1 tl2" ;;
    --scale-rule) words="floor even up ceil absmax absmean" ;;
    --group) words="row tensor" ;;
    --rounding) words="even floor" ;;
    --overflow) words="saturate special" ;;
    *)
      local commands="targets ops tune run emit bench evaluate model view prompt mcp report quantize wisdom cache"
      if [ "$COMP_CWORD" = 1 ]; then
        words="$commands help --help --version"
      elif [ "$command" = help ]; then
        words=$commands
      elif [ "${current#-}" != "$current" ]; then
        words=$(tilewright "$command" --help 2>/dev/null | sed -n 's/^  \(-., \|    \)\(--[a-z-]*\).*/\2/p')
      elif [ "$command" = wisdom ] && [ "$COMP_CWORD" = 2 ]; then
        words="list show forget export import"
      elif [ "$command" = cache ] && [ "$COMP_CWORD" = 2 ]; then
        words="clear"
      elif [ "$command" = prompt ] && [ "$COMP_CWORD" = 2 ]; then
        words="plan implement"
      elif [ "$command" = view ]; then
        words=$(tilewright view 2>/dev/null | awk '!/`/ {for (i = /^ / ? 1 : 2; i <= NF; i++) print $i}' | sort -u)
      elif [ "$command" = targets ]; then
        words=$(tilewright targets 2>/dev/null | awk '/^[^ ]/ {print $1}')
      elif [ "$command" = report ]; then
        COMPREPLY=($(compgen -d -- "$current"))
        return
      elif [ "$command" = quantize ]; then
        compopt -o filenames
        COMPREPLY=($(compgen -d -- "$current") $(compgen -f -X '!*.npy' -- "$current") $(compgen -f -X '!*.safetensors' -- "$current"))
        return
      else
        words=$(tilewright ops 2>/dev/null | awk '/^[^ ]/ {print $1}')
        local op
        for op in $words; do
          case " ${COMP_WORDS[*]} " in *" $op "*) words=$(tilewright ops "$op" | awk '/^  [^ ]/ {print $1 "="}') ; compopt -o nospace ;; esac
        done
        if [ "$command" = run ]; then
          compopt -o filenames
          COMPREPLY=($(compgen -d -- "$current") $(compgen -f -- "$current" | grep -E '\.(c|cc|cl|cu|hip|mlir|s|co)$'))
        fi
      fi ;;
  esac
  COMPREPLY+=($(compgen -W "$words" -- "$current"))
}
complete -F _tilewright tilewright
