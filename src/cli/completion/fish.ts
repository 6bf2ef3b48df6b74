import { type CompletedCommand, type CompletedOption, quote } from './tree.ts'

/** Returns a completion script for fish. */
export function toFishScript(commands: readonly CompletedCommand[]): string {
  const [, ...subcommands] = commands.map(({ path }) => quote(path))
  const lines = commands.flatMap(({ path, words, options }) => {
    const complete = `complete -c geohook -n "__geohook_at '${path}'"`
    return [
      ...words.map(({ name, description }) => `${complete} -f -a ${quote(name)} -d ${quote(description)}`),
      ...options.map((option) => `${complete} ${optionArguments(option)}`),
    ]
  })
  return `# Completion of geohook for fish. Written by "geohook completion fish".
function __geohook_at
    set -l node geohook
    for word in (commandline -opc)[2..]
        switch "$node $word"
            case ${subcommands.join(' ')}
                set node "$node $word"
        end
    end
    test "$node" = "$argv[1]"
end
${lines.join('\n')}
`
}

function optionArguments({ names, description, takesValue, choices }: CompletedOption): string {
  const flags = names.map((name) =>
    name.startsWith('--') ? `-l ${quote(name.slice(2))}` : `-s ${quote(name.slice(1))}`,
  )
  const value = choices.length > 0 ? [`-x -a ${quote(choices.join(' '))}`] : takesValue ? ['-r'] : []
  return [...flags, ...value, `-d ${quote(description)}`].join(' ')
}
