import { readdirSync, readFileSync } from 'node:fs'

export const root: string = new URL('../../', import.meta.url).pathname
export const readme: string = readFileSync(`${root}README.md`, 'utf8')
/** The pages in `docs/`, except the recipes in queues.md: `test/queues` runs these with their servers. */
export const pages: readonly string[] = readdirSync(`${root}docs`)
  .filter((name) => name.endsWith('.md') && name !== 'queues.md')
  .map((name) => readFileSync(`${root}docs/${name}`, 'utf8'))
/** TypeScript examples in the doc comments of the source, without the leading asterisks. */
export const examples: readonly string[] = readdirSync(`${root}src`, { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.ts'))
  .flatMap((path) => [
    ...readFileSync(`${root}src/${path}`, 'utf8').matchAll(/@example\n *\* ```ts\n(.*?) \* ```/gs),
  ])
  .map(([, code = '']) => code.replace(/^ *\* ?/gm, ''))
/** Returns the code blocks of a language in the README and the pages in `docs/`. */
export const blocksIn = (language: string): readonly string[] =>
  [...[readme, ...pages].join('\n').matchAll(/^```(\w*)\n(.*?)^```$/gms)]
    .filter(([, found]) => found === language)
    .map(([, , code]) => code as string)
/** The TypeScript code blocks. Each one is a complete program. */
export const blocks: readonly string[] = blocksIn('ts')
/** Arguments of Node for a program. Examples that administer services get a mock service at their addresses. */
export const nodeArguments = (code: string): readonly string[] => [
  ...(code.includes('geohook/admin') ? ['--import', `${root}test/helpers/example-services.mjs`] : []),
  '--input-type=module',
  '--eval',
  code,
]
/** Doc examples that never end, such as servers. */
export const isEndless = (code: string): boolean => /\.listen\((?!4000)|\.work\(|new Redis\(/.test(code)
