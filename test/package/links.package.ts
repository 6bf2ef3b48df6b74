import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { root } from './entries.ts'

const folder = mkdtempSync(join(tmpdir(), 'geohook-links-'))
afterAll(() => rmSync(folder, { recursive: true }))

/** Writes documents, and returns the links that scripts/check-links.mjs reports. */
function deadLinksIn(documents: Record<string, string>): string[] {
  mkdirSync(join(folder, 'docs'), { recursive: true })
  for (const [path, text] of Object.entries(documents)) writeFileSync(join(folder, path), text)
  const program = `
    import { deadLinks } from ${JSON.stringify(join(root, 'scripts/check-links.mjs'))}
    console.log(JSON.stringify((await deadLinks(${JSON.stringify(folder)})).dead))`
  return JSON.parse(
    execFileSync(process.execPath, ['--input-type=module', '--eval', program], { encoding: 'utf8' }),
  )
}

it('the link check accepts links to files and headings, and reports all others', () => {
  const dead = deadLinksIn({
    'README.md': `# Start
[a](docs/a.md) [b](docs/a.md#options-of-create_x) [c](#start) [d](docs) [e](https://example.com/none)
\`[code](none.md)\` ![image](none.svg) [gone](docs/none.md)
[heading](docs/a.md#none), [outside](../), <img src="none.png">, [twice](docs/a.md#twice-1)

\`\`\`sh
[in a code block](none.md)
\`\`\`

[reference]: none-referenced.md
`,
    'docs/a.md': '# Options of `create_x()`\n## Twice\n## Twice\n[up](../README.md#start)\n',
    'llms.txt': '# geohook\n- [docs](docs/b.md): none\n',
  })
  expect(dead.sort()).toEqual([
    'README.md: ../',
    'README.md: docs/a.md#none',
    'README.md: docs/none.md',
    'README.md: none-referenced.md',
    'README.md: none.png',
    'README.md: none.svg',
    'llms.txt: docs/b.md',
  ])
})

it('llms.txt has the form of llmstxt.org, and lists every page in docs', () => {
  const text = readFileSync(join(root, 'llms.txt'), 'utf8')
  expect(text).toMatch(/^# geohook\n\n> [^\n]+\n/)
  for (const section of text.split(/^## /m).slice(1))
    expect(section).toMatch(/^[A-Z][A-Za-z ]+\n\n(- \[[^\]]+\]\([^)]+\): [^\n]+\n)+\n?$/)
  const pages = readdirSync(join(root, 'docs')).filter((name) => name.endsWith('.md'))
  expect(pages.filter((name) => !text.includes(`(docs/${name})`))).toEqual([])
})
