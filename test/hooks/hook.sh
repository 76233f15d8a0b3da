#!/bin/sh
# hook.sh NAME [EXIT] [STDOUT] [STDERR] [SLEEP] [MOST]: notes that it started and with which input, then does as it is
# told. After MOST starts under this name it does nothing. Without forks where it can: it runs a thousand times.
IFS= read -r input
if [ -n "$6" ] && [ "$(grep -c "^$1	" "$HOOKLOG" 2>/dev/null)" -ge "$6" ]; then
  printf '%s\t%s\n' "$1-idle" "$input" >> "$HOOKLOG"
  exit 0
fi
printf '%s\t%s\n' "$1" "$input" >> "$HOOKLOG"
[ -n "$5" ] && sleep "$5"
[ -n "$4" ] && printf '%s' "$4" >&2
[ -n "$3" ] && printf '%s' "$3"
exit "${2:-0}"
