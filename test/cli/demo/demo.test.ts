import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { CLI, geohook } from '../../helpers/cli.ts'
import { startNode } from '../../helpers/process.ts'
import { hasTerminal, startInTerminal } from '../../helpers/terminal.ts'

it('npm start runs every step of the demo and exits with 0', async () => {
  const demo = startNode(['--import', 'tsx', 'src/cli/main.ts', 'demo'])
  expect(await demo.exited).toBe(0)
  for (const pattern of [
    /verified; its handler got FeaturesCreated on Parcels\n.*response 200/,
    /edit: success, the webhook now points at \S+parcels-v2/,
    /verified; its handler got FeaturesUpdated on Parcels\n.*parcels-v2, response 200/,
    /refused: signature_mismatch\. .*\n.*received 401/,
    /refused: signature_missing\. .*\n.*received 401/,
    /delete: success\n.*sent nothing\n.*received nothing/,
    /Every step succeeded\.\n$/,
  ]) {
    expect(demo.output).toMatch(pattern)
  }
})

it('the built geohook demo runs every step and exits with 0', async () => {
  const { code, stdout, stderr } = await geohook(['demo'])
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout).toMatch(/^geohook: how a signed delivery reaches your handler/)
  expect(stdout.match(/^\d\. /gm)?.length).toBeGreaterThan(5)
  expect(stdout).toMatch(/Every step succeeded\.\n$/)
})

it.skipIf(!hasTerminal)('ends with the address of the inspector in a terminal, and only there', async () => {
  const terminal = startInTerminal(['--import', 'tsx', 'src/cli/main.ts', 'demo'])
  expect(await terminal.exited).toBe(0)
  expect(terminal.output).toMatch(
    /Every step succeeded\.\r?\nThe inspector showed the deliveries at http:\/\/127\.0\.0\.1:\d+\/\r?\nTo keep it running: npm start -- --open, or geohook demo --open/,
  )
})

it('demo --open keeps the inspector running until Ctrl-C', async () => {
  const demo = startNode(['--import', 'tsx', 'src/cli/main.ts', 'demo', '--open'])
  const [, url = ''] = await demo.printed(/The inspector shows the deliveries at (\S+) \(Ctrl-C stops it\)/)
  const page = await (await fetch(url)).text()
  expect(page.match(/<li data-id/g)).toHaveLength(4)
  expect(page).toContain('401 refused')
  expect(await demo.stop('SIGINT')).toBe(0)
})

it.each([
  [
    'the receiver accepts everything',
    'import("node:http").then(({ ServerResponse: { prototype: p } }) => { const { writeHead } = p; p.writeHead = function (status, ...rest) { return writeHead.call(this, status === 401 ? 200 : status, ...rest) } })',
  ],
  [
    'the edit fails',
    'const { fetch } = globalThis; globalThis.fetch = (url, init) => fetch(String(url).replace(/edit$/, "nothing"), init)',
  ],
  [
    'the webhook is not deleted',
    'const { fetch } = globalThis; globalThis.fetch = (url, init) => String(url).endsWith("delete") ? Promise.resolve(Response.json({ status: "success" })) : fetch(url, init)',
  ],
])('the demo fails with exit code 1 when %s', async (_, patch) => {
  const folder = mkdtempSync(join(tmpdir(), 'geohook-'))
  const preload = join(folder, 'patch.mjs')
  writeFileSync(preload, patch)
  const demo = startNode(['--import', preload, CLI, 'demo'])
  expect(await demo.exited).toBe(1)
  rmSync(folder, { recursive: true })
  expect(demo.output).toContain('error: the demo failed: ')
})
