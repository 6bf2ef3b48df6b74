import { readdirSync, readFileSync } from 'node:fs'
import ts from 'typescript'
import { expect, it } from 'vitest'

const folder = new URL('../../src/adapters/', import.meta.url)

function numbersOf(text: string): number[] {
  const scanner = ts.createScanner(ts.ScriptTarget.Latest, true, ts.LanguageVariant.Standard, text)
  const numbers: number[] = []
  for (let token = scanner.scan(); token !== ts.SyntaxKind.EndOfFileToken; token = scanner.scan()) {
    if (token === ts.SyntaxKind.NumericLiteral) numbers.push(Number(scanner.getTokenValue()))
  }
  return numbers
}

it('adapters contain no status codes, because only the receiver decides on them', () => {
  const files = readdirSync(folder).filter((name) => name.endsWith('.ts'))
  expect(files).toContain('express.ts')
  const found = files.flatMap((name) =>
    numbersOf(readFileSync(new URL(name, folder), 'utf8'))
      .filter((number) => number >= 100 && number <= 599)
      .map((number) => `${name}: ${number}`),
  )
  expect(found).toEqual([])
  expect(numbersOf('res.status(4_04) // 500')).toEqual([404])
})
