import { Button, Stack, Text, TextInput } from "@mantine/core"
import { useState } from "react"
import { ActionButton } from "./action-button.tsx"
import { Section } from "./page-layout.tsx"
import { TextView } from "./text-view.tsx"

const OBJECT = /^[0-9a-f]{40}$/

/** Removes an object from the repository for good; for owners. */
export function ScrubSection() {
  const [typed, setTyped] = useState("")
  const blob = typed.trim()
  const isId = OBJECT.test(blob)
  return (
    <Section
      title="Remove content for good"
      description="For a pushed secret: git serves every pushed object to anyone who knows its id, even if no branch has it."
    >
      <Stack maw={640}>
        <Text size="sm">
          First revoke the secret where it was issued, and remove it from all branches and tags:
          rewrite the commits and push with --force. Then enter the id of the content here.
        </Text>
        <TextView title="The id of a file's content" text="git rev-parse COMMIT:PATH" />
        <TextInput
          label="Id of the content, commit or tag"
          value={typed}
          autoComplete="off"
          error={blob === "" || isId ? null : "Must be 40 lowercase hexadecimal digits"}
          onChange={(event) => setTyped(event.currentTarget.value)}
        />
        {isId ? (
          <ActionButton
            operation="repository-scrub"
            input={{ blob }}
            label="Remove it"
            description="Removes the content and all other objects that no branch or tag reaches. Pushes are rejected meanwhile. Older backups still have the content."
            successMessage="The content was removed."
            isDangerous
            onDone={() => setTyped("")}
          />
        ) : (
          <Button disabled variant="default" w="fit-content">
            Remove it
          </Button>
        )}
      </Stack>
    </Section>
  )
}
