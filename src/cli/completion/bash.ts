import { type CompletedCommand, optionPaths, quote } from './tree.ts'

/** Returns a completion script for bash 3.2 and later. */
export function toBashScript(commands: readonly CompletedCommand[]): string {
  const [, ...subcommands] = commands.map(({ path }) => quote(path))
  const values = commands.flatMap((command) =>
    command.options
      .filter(({ choices }) => choices.length > 0)
      .map(
        (option) =>
          `    ${optionPaths(command, option).join(' | ')}) words=${quote(option.choices.join(' '))} ;;`,
      ),
  )
  const nodes = commands.map(({ path, words, options }) => {
    const names = words.map(({ name }) => name).join(' ')
    const flags = options.flatMap((option) => option.names).join(' ')
    return `        ${quote(path)}) words=${quote(names)} options=${quote(flags)} ;;`
  })
  return `# Completion of geohook for bash. Written by "geohook completion bash".
_geohook() {
  local current=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD - 1]}
  local node=geohook words='' options='' index
  # bash splits --option=value into three words.
  if [[ $current == = ]]; then
    current=''
  elif [[ $previous == = ]]; then
    previous=\${COMP_WORDS[COMP_CWORD - 2]}
  fi
  for ((index = 1; index < COMP_CWORD; index++)); do
    case "$node \${COMP_WORDS[index]}" in
      ${subcommands.join(' | ')}) node="$node \${COMP_WORDS[index]}" ;;
    esac
  done
  case "$node $previous" in
${values.join('\n')}
    *)
      case "$node" in
${nodes.join('\n')}
      esac
      if [[ $current == -* ]]; then words=$options; fi
      ;;
  esac
  # With no words, "complete -o default" completes file names.
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _geohook geohook
`
}
