import { arch, cpus, release, totalmem, type } from 'node:os'

/** Properties of the machine that affect the figures but do not identify the machine. */
export const machine = () => ({
  cpu: cpus()[0]?.model.trim() ?? 'unknown',
  cores: cpus().length,
  memory: `${(totalmem() / 1024 ** 3).toFixed(1)} GiB`,
  system: `${type()} ${release()} ${arch()}`,
  node: process.version,
})
