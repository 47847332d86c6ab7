"""An application of Celery for the tests of the transport."""
