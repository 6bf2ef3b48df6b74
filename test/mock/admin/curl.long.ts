import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { hasProgram } from '../../helpers/programs.ts'
import { FEATURE, JOB, seed, start } from '../support.ts'
import { auth } from './support.ts'

const SERVICES = [
  { folderName: 'City', serviceName: 'Parcels', serviceType: 'FeatureServer' },
  { serviceName: 'Parcels', serviceType: 'FeatureServer' },
] as const

/** Runs a script in this folder. */
async function run(command: string, script: string, args: string[]) {
  const path = fileURLToPath(new URL(script, import.meta.url))
  const child = spawn(command, [path, ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => {
      output += chunk
    })
  }
  const [code] = await once(child, 'close')
  return { code, output }
}

describe.skipIf(!hasProgram('curl'))('curl', () => {
  it('drives the administration from end to end', async () => {
    const other = [seed(FEATURE), seed(JOB)]
    const service = await start(other, { auth: auth(), services: SERVICES })
    const { code, output } = await run('bash', 'drive.sh', [service.url, 'both', 'pw-both'])
    expect([code, output]).toEqual([0, 'done\n'])
    expect(service.snapshot().webhooks, 'the others are as they were').toEqual(other)
    expect(service.snapshot().settings.notificationAttempts).toBe(2)
  }, 60_000)
})

describe.skipIf(!hasProgram('python3'))("Python's standard library", () => {
  it('drives the administration, and verifies the delivery that follows', async () => {
    const service = await start([], { auth: auth(), services: SERVICES })
    const { code, output } = await run('python3', 'drive.py', [service.url, 'fs', 'pw-fs'])
    expect([code, output]).toEqual([0, 'done\n'])
  }, 60_000)
})
