import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')
const gc = runInNewContext('gc')

/**
 * Runs a minor garbage collection, so that garbage of one subject is not collected while another is measured. A full
 * collection would also discard compiled code.
 */
export const collectYoung = () => gc({ type: 'minor' })
