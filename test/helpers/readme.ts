import { readdirSync, readFileSync } from 'node:fs'

export const root: string = new URL('../../', import.meta.url).pathname
export const readme: string = readFileSync(`${root}README.md`, 'utf8')
export const pages: readonly string[] = readdirSync(`${root}docs`)
  .filter((name) => name.endsWith('.md'))
  .map((name) => readFileSync(`${root}docs/${name}`, 'utf8'))
/** TypeScript examples in the doc comments of the source, without the leading asterisks. */
export const examples: readonly string[] = readdirSync(`${root}src`, { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.ts'))
  .flatMap((path) => [
    ...readFileSync(`${root}src/${path}`, 'utf8').matchAll(/@example\n *\* ```ts\n(.*?) \* ```/gs),
  ])
  .map(([, code = '']) => code.replace(/^ *\* ?/gm, ''))
/** TypeScript code blocks of the README and the pages in `docs/`. */
export const blocks: readonly string[] = [...[readme, ...pages].join('\n').matchAll(/```ts\n(.*?)```/gs)].map(
  ([, code]) => code as string,
)
