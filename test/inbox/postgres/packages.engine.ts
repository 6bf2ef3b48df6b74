import { expect, it } from 'vitest'
import { startNode } from '../../helpers/process.ts'
import { root } from '../../package/entries.ts'

it.each([
  ['pg-boss', 'createPostgresInbox', '.stats()'],
  ['pg', 'createPostgresDuplicates', ".claim('a')"],
])('tells how to install %s if it is missing', async (name, create, call) => {
  // Make Node report the package as missing.
  const hooks = `export const resolve = (name, context, next) => {
    if (name === '${name}') throw Object.assign(new Error('not found'), { code: 'ERR_MODULE_NOT_FOUND' })
    return next(name, context)
  }`
  const program = `
    import { register } from 'node:module'
    register(${JSON.stringify(`data:text/javascript,${encodeURIComponent(hooks)}`)})
    const { ${create} } = await import('geohook/postgres')
    const store = ${create}({ connectionString: 'postgres://127.0.0.1:1/x' })
    await store${call}.catch((error) => console.log(error.message))`
  const started = startNode(['--input-type=module', '--eval', program], {}, { cwd: root })
  expect(await started.exited).toBe(0)
  expect(started.stdout).toContain(`npm install ${name}`)
})

it('warns once on a Node version that pg-boss does not support', async () => {
  const program = `
    Object.defineProperty(process.versions, 'node', { value: process.argv[1] })
    const { createPostgresInbox } = await import('geohook/postgres')
    for (const _ of 'ab')
      await createPostgresInbox({ connectionString: 'postgres://127.0.0.1:1/x' }).stats().catch(() => {})`
  const warningsOn = async (version: string) => {
    const started = startNode(['--input-type=module', '--eval', program, version], {}, { cwd: root })
    expect(await started.exited).toBe(0)
    return started.output.match(/\[node_unsupported\].*/g) ?? []
  }
  expect(await warningsOn('22.11.0')).toEqual([
    '[node_unsupported] GeohookWarning: pg-boss requires Node 22.12 or later, and this is Node 22.11.0. Upgrade Node.',
  ])
  expect(await warningsOn('22.12.0')).toEqual([])
})
