import { MOUNTS } from '../helpers/mounts.ts'
import { adapterContract } from './adapters.ts'

for (const [name, mount] of Object.entries(MOUNTS)) adapterContract(name, mount)
