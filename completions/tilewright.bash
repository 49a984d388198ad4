# bash completion of tilewright. Names of targets, ops and keys are asked from the command itself.
# generated: bash
_tilewright_commands="targets ops tune run emit bench evaluate model prompt view mcp report quantize wisdom cache"
# PREVIOUS CURRENT: completes the argument of an option; false if PREVIOUS takes none.
_tilewright_argument() {
  case $1 in
    -o | --out | --include | --prompts) COMPREPLY=($(compgen -d -- "$2")) ;;
    -s | --schedule | --trace | --timeline | --known | --write-known | --args | --floorplan | --svg | --from | --context | --plan | --page | --reuse | --hosts) COMPREPLY=($(compgen -f -- "$2")) ;;
    --reasoning-effort) COMPREPLY=($(compgen -W "low medium high" -- "$2")) ;;
    --without) COMPREPLY=($(compgen -W "menu isa feedback model examples" -- "$2")) ;;
    --to) COMPREPLY=($(compgen -W "f32 f16 bf16 e4m3 e5m2 mxfp8 mxfp8-e5m2 mxfp6-e3m2 mxfp6 mxfp4 mxint8 bfp16 i8 i4 i2_s tq1_0 tq2_0 tl1 tl2 e4m3fnuz" -- "$2")) ;;
    --scale-rule) COMPREPLY=($(compgen -W "floor even up ceil absmax absmean" -- "$2")) ;;
    --group) COMPREPLY=($(compgen -W "row tensor" -- "$2")) ;;
    --rounding) COMPREPLY=($(compgen -W "even floor" -- "$2")) ;;
    --overflow) COMPREPLY=($(compgen -W "saturate special" -- "$2")) ;;
    *) return 1 ;;
  esac
}
# COMMAND: the first words that it takes.
_tilewright_first() {
  case $1 in
    prompt) echo "plan implement" ;;
    wisdom) echo "list show forget export import" ;;
    cache) echo "clear" ;;
  esac
}
# end of bash
_tilewright() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]} words=
  [ "$current" = = ] && return
  COMPREPLY=()
  _tilewright_argument "$previous" "$current" && return
  case $previous in
    -t | --target | --write)
      words=$(tilewright targets 2>/dev/null | awk '/^[^ ]/ {print $1}')
      COMPREPLY=($(compgen -f -X '!*.machine' -- "$current"))
      ;;
    *)
      local first
      first=$(_tilewright_first "$command")
      if [ "$COMP_CWORD" = 1 ]; then
        words="$_tilewright_commands help --help --version"
      elif [ "$command" = help ]; then
        words=$_tilewright_commands
      elif [ "${current#-}" != "$current" ]; then
        words=$(tilewright "$command" --help 2>/dev/null | sed -n 's/^  \(-., \|    \)\(--[a-z-]*\).*/\2/p')
      elif [ "$first" ] && [ "$COMP_CWORD" = 2 ]; then
        words=$first
      elif [ "$command" = view ]; then
        words=$(tilewright view 2>/dev/null | awk '!/`/ {for (i = /^ / ? 1 : 2; i <= NF; i++) print $i}' | sort -u)
      elif [ "$command" = targets ]; then
        words=$(tilewright targets 2>/dev/null | awk '/^[^ ]/ {print $1}')
        COMPREPLY=($(compgen -f -X '!*.machine' -- "$current"))
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
