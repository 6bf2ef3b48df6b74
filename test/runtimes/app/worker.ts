import { createSubject } from '../../contract/setups.ts'
import { handle } from './fetch.ts'

// Checks that a receiver can be created outside of a request, where Workers forbid many functions.
createSubject('plain')

export default { fetch: (request: Request): Promise<Response> => handle(request) }
