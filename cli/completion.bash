# Completion of kiln's command line for bash. Commands and options are those that its own help lists.

_kiln()
{
    local kiln=${COMP_WORDS[0]} word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]}
    COMPREPLY=()
    if ((COMP_CWORD == 1)); then
        mapfile -t COMPREPLY < <(compgen -W "help --help --version $("$kiln" --help 2>/dev/null |
            sed -n 's/^  kiln \([a-z]*\) .*/\1/p')" -- "$word")
        return
    fi
    case $before in
    help) ((COMP_CWORD == 2)) && mapfile -t COMPREPLY < <(compgen -W "$("$kiln" --help 2>/dev/null |
        sed -n 's/^  kiln \([a-z]*\) .*/\1/p')" -- "$word") && return ;;
    --device) mapfile -t COMPREPLY < <(compgen -W "auto cpu cuda emu ref" -- "$word") && return ;;
    --fusion) mapfile -t COMPREPLY < <(compgen -W "on off" -- "$word") && return ;;
    --reuse) mapfile -t COMPREPLY < <(compgen -W "keep recompute" -- "$word") && return ;;
    --schedule) mapfile -t COMPREPLY < <(compgen -W "whole split resident cluster tiles" -- "$word") && return ;;
    --stage) mapfile -t COMPREPLY < <(compgen -W "graph ir schedule c cuda ptx resources dot" -- "$word") && return ;;
    --html | --svg) mapfile -t COMPREPLY < <(compgen -f -X "!*.${before#--}" -- "$word"; compgen -d -- "$word") && return ;;
    -o) mapfile -t COMPREPLY < <(compgen -d -- "$word") && return ;;
    esac
    if [[ $word == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$("$kiln" help "$command" 2>/dev/null |
            grep -oE '(^|[ ,])(--[a-z-]+|-[a-z])\b' | tr -d ' ,' | sort -u)" -- "$word")
    elif [[ $command == cache ]]; then
        mapfile -t COMPREPLY < <(compgen -W "stats list clear trim" -- "$word")
    else
        local ending=kiln
        [[ $command == kernel ]] && ending=cu
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -f -X "!*.$ending" -- "$word"; compgen -f -X "!*.npy" -- "$word"
            compgen -d -- "$word")
    fi
}
complete -F _kiln kiln
