import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { startNode } from '../../helpers/process.ts'
import { root } from '../../package/entries.ts'

const UNREACHABLE_URL = 'redis://127.0.0.1:1'

it.each(['js', 'cjs'])('reports what to install if the packages are missing: redis.%s', async (format) => {
  const folder = mkdtempSync(join(tmpdir(), 'geohook-alone-'))
  try {
    cpSync(join(root, 'dist'), join(folder, 'dist'), { recursive: true })
    cpSync(join(root, 'package.json'), join(folder, 'package.json'))
    const program = `
      const { createRedisInbox } = (await import('./dist/redis.${format}'))
      await createRedisInbox({ url: '${UNREACHABLE_URL}' }).stats().catch((error) => console.log(error.message))`
    const started = startNode(['--input-type=module', '--eval', program], {}, { cwd: folder })
    expect(await started.exited).toBe(0)
    expect(started.stdout).toContain('npm install bullmq ioredis')
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
