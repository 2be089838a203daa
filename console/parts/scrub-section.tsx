import { Button, Stack, Text, TextInput } from "@mantine/core"
import { useState } from "react"
import { ActionButton } from "./action-button.tsx"
import { Section } from "./page-layout.tsx"
import { TextView } from "./text-view.tsx"

const OBJECT = /^[0-9a-f]{40}$/

/** Takes a content out of the repository for good: an owner's. */
export function ScrubSection() {
  const [typed, setTyped] = useState("")
  const blob = typed.trim()
  const isId = OBJECT.test(blob)
  return (
    <Section
      title="Take something out for good"
      description="For a secret that came in: git hands out what was pushed once to whoever knows its id, even when no branch has it."
    >
      <Stack maw={640}>
        <Text size="sm">
          First make the secret useless where it is from, and take it out of all branches and tags:
          rewrite the commits and push with --force. Then give the id of the content here.
        </Text>
        <TextView title="The id of a file's content" text="git rev-parse COMMIT:PATH" />
        <TextInput
          label="Id of the content, commit or tag"
          value={typed}
          autoComplete="off"
          error={blob === "" || isId ? null : "40 hexadecimal digits, in small letters"}
          onChange={(event) => setTyped(event.currentTarget.value)}
        />
        {isId ? (
          <ActionButton
            operation="repository-scrub"
            input={{ blob }}
            label="Take it out"
            description="The content goes, with all else that no branch or tag reaches. Nobody can push meanwhile. Backups of before have it still."
            successMessage="The content is gone."
            isDangerous
            onDone={() => setTyped("")}
          />
        ) : (
          <Button disabled variant="default" w="fit-content">
            Take it out
          </Button>
        )}
      </Stack>
    </Section>
  )
}
