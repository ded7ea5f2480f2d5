"""What a run would be, what it would take, and how that is counted: before anything starts."""
