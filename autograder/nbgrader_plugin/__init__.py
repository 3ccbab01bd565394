"""nbgrader plug-ins: release, intake and repair of submissions, marking, feedback, reports and exports."""
