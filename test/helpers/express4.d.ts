/** Express 4 under an alias. The tests use only functions that Express 5 types in the same way. */
declare module 'express4' {
  import express from 'express'
  export default express
}
