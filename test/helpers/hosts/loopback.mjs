// Import this before a program that listens on all addresses: it then listens on 127.0.0.1 only, on a free port that
// it prints.
import { Server } from 'node:net'

const { listen } = Server.prototype
Server.prototype.listen = function listenHere(_port, ...rest) {
  this.once('listening', () => console.log(`listening on http://127.0.0.1:${this.address().port}/`))
  return listen.call(this, 0, '127.0.0.1', ...rest)
}
