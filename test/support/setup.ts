// Vitest runs this before each test file.
import { measureFile } from "./costs.ts"

measureFile()
