// Import this before a program that listens on all addresses. The program then listens only on 127.0.0.1, on a free
// port, and prints its URL.
import { Server } from 'node:net'

const { listen } = Server.prototype
Server.prototype.listen = function listenHere(_port, ...rest) {
  this.once('listening', () => console.log(`listening on http://127.0.0.1:${this.address().port}/`))
  return listen.call(this, 0, '127.0.0.1', ...rest)
}
