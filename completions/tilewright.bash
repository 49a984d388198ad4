# bash completion of tilewright. Names of targets, ops and keys are asked from the command itself.
_tilewright() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]} words=
  [ "$current" = = ] && return
  COMPREPLY=()
  case $previous in
    -t | --target) words=$(tilewright targets 2>/dev/null | awk '/^[^ ]/ {print $1}') ;;
    -o | --out) COMPREPLY=($(compgen -d -- "$current")); return ;;
    -s | --schedule | --trace | --from) COMPREPLY=($(compgen -f -- "$current")); return ;;
    *)
      if [ "$COMP_CWORD" = 1 ]; then
        words="targets ops tune run emit bench model report wisdom --help --version"
      elif [ "${current#-}" != "$current" ]; then
        words=$(tilewright "$command" --help 2>/dev/null | grep -o -- '--[a-z-]*')
      elif [ "$command" = wisdom ] && [ "$COMP_CWORD" = 2 ]; then
        words="list show export import"
      elif [ "$command" = targets ]; then
        words=$(tilewright targets 2>/dev/null | awk '/^[^ ]/ {print $1}')
      elif [ "$command" = report ]; then
        COMPREPLY=($(compgen -d -- "$current"))
        return
      else
        words=$(tilewright ops 2>/dev/null | awk '{print $1}')
        local op
        for op in $words; do
          case " ${COMP_WORDS[*]} " in *" $op "*) words=$(tilewright ops "$op" | awk 'NR > 1 {print $1 "="}') ; compopt -o nospace ;; esac
        done
        [ "$command" = run ] && COMPREPLY=($(compgen -f -X '!*.c' -- "$current"))
      fi ;;
  esac
  COMPREPLY+=($(compgen -W "$words" -- "$current"))
}
complete -F _tilewright tilewright
