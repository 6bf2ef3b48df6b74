import { type CompletedCommand, optionPaths, quote, type Word } from './tree.ts'

/** Returns a completion script for zsh, to be evaluated after `compinit`, or saved as `_geohook` in `fpath`. */
export function toZshScript(commands: readonly CompletedCommand[]): string {
  const [, ...subcommands] = commands.map(({ path }) => quote(path))
  const values = commands.flatMap((command) =>
    command.options
      .filter(({ choices }) => choices.length > 0)
      .map((option) => {
        const values = option.choices.map(quote).join(' ')
        return `    ${optionPaths(command, option).join(' | ')}) compadd -- ${values}; return ;;`
      }),
  )
  const nodes = commands.map(({ path, words, options }) => {
    const flags = options.flatMap(({ names, description }) => names.map((name) => ({ name, description })))
    return `    ${quote(path)})
      items=(${words.map(toItem).join(' ')})
      flags=(${flags.map(toItem).join(' ')})
      ;;`
  })
  return `#compdef geohook
# Completion of geohook for zsh. Written by "geohook completion zsh".
_geohook() {
  local node=geohook previous=\${words[CURRENT-1]} current=\${words[CURRENT]} index
  local -a items flags
  if [[ $current == --*=* ]]; then
    previous=\${current%%=*}
    compset -P '*='
  fi
  for ((index = 2; index < CURRENT; index++)); do
    case "$node \${words[index]}" in
      ${subcommands.join(' | ')}) node="$node \${words[index]}" ;;
    esac
  done
  case "$node $previous" in
${values.join('\n')}
  esac
  case "$node" in
${nodes.join('\n')}
  esac
  if [[ $current == -* ]]; then
    _describe -o option flags
  elif (( \${#items} )); then
    _describe command items
  else
    _files
  fi
}
if [[ \${funcstack[1]} == _geohook ]]; then
  _geohook "$@"
else
  compdef _geohook geohook
fi
`
}

const toItem = ({ name, description }: Word): string => quote(`${name}:${description}`)
