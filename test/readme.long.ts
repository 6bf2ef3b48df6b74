import { rmSync, writeFileSync } from 'node:fs'
import ts from 'typescript'
import { afterAll, expect, it } from 'vitest'
import { blocks, examples, root } from './helpers/readme.ts'

const all = [...blocks, ...examples]
const files = all.map((_, index) => `${root}test/readme-block-${index}.ts`)
afterAll(() => {
  for (const file of files) rmSync(file, { force: true })
})

it('the code in the README, the docs and the doc comments compiles', () => {
  expect(blocks.length).toBeGreaterThan(4)
  expect(examples.length).toBeGreaterThan(10)
  for (const [index, file] of files.entries()) writeFileSync(file, `${all[index]}\nexport {}\n`)
  const { config } = ts.readConfigFile(`${root}test/types/tsconfig.json`, ts.sys.readFile)
  const { options } = ts.parseJsonConfigFileContent(
    { ...config, files, include: [] },
    ts.sys,
    `${root}test/types`,
  )
  const program = ts.createProgram(files, { ...options, noUnusedLocals: false, noUnusedParameters: false })
  // Reports only errors in these files: `npm run types` checks the sources that they import.
  const diagnostics = files.flatMap((file) => ts.getPreEmitDiagnostics(program, program.getSourceFile(file)))
  expect(diagnostics.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'))).toEqual([])
})
